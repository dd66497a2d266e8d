"""Measures the speed as ratios against floors measured in the same run (`./dev bench`)."""
