"""The public functions and classes of `import dragoman`: thin layers over the other packages."""
