# finding: float_division
# math.ceil of a float: exact up to 2**53 only
def grid_size(n, block):
    return math.ceil(n / block)
