"""The HTTP service and its web page: translation, evidence, lists, scores and runs. FastAPI is used only here."""
