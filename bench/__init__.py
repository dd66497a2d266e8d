"""The benchmarks (`./dev bench`). A result is the ratio to a floor, which is the smallest possible cost of such work
on this machine, measured in the same run.
"""
