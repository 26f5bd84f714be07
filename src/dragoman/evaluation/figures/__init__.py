"""Pictures: each function draws what it is given and computes nothing."""
