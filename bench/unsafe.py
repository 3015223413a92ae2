"""What the expert suite leaves out of its count of wins, and why: equal over the reals, and numerically bad."""

EXPERIMENTS = {
    "13_pairwise_dist_to_gemm": "pairwise distance as a matrix product: of points near to each other and far from 0 only rounding is left",
    "11_act_Mish": "Mish by way of a sigmoid: for large negative numbers the relative error reaches 5.5",
}
VARIANTS = {
    "F4": "Winograd's F(4,3): 20 times the error of the convolution",
}
