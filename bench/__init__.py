"""The benchmarks (`./dev bench`). Results are ratios to a floor: the least that such work costs on this machine,
measured in the same run.
"""
