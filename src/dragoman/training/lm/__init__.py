"""Language models from text: counting, modified Kneser-Ney smoothing, linear interpolation."""
