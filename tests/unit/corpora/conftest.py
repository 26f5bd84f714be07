import subprocess

import pytest


@pytest.fixture
def make_package(tmp_path, tmp_path_factory):
    """Return a function that writes a small Debian package into the test's folder."""

    def make(name, version, files):
        root = tmp_path_factory.mktemp("package")
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <n@example.org>\n"
            "Description: a test\n"
        )
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        file = tmp_path / f"{name}_{version.replace(':', '%3a')}_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", root, file], check=True, capture_output=True)
        return file

    return make
