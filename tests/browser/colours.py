# SPDX-License-Identifier: GPL-2.0-only
"""How different two colours are: the contrast of WCAG 2, and the distance in CIELAB, as people with normal vision and
with the three kinds of colour blindness see them (Machado, Oliveira and Fernandes 2009, severity 1).
"""

VISIONS = {
    "normal vision": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)


def linear(colour):
    """The light of a colour of three bytes."""
    parts = (part / 255 for part in colour)
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix, light):
    return [sum(a * b for a, b in zip(row, light)) for row in matrix]


def luminance(colour):
    return times(XYZ, linear(colour))[1]


def contrast(one, other):
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def lab(light):
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (part / white for part, white in zip(times(XYZ, light), WHITE))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other, vision):
    seen = [lab([min(1, max(0, part)) for part in times(VISIONS[vision], linear(colour))]) for colour in (one, other)]
    return sum((a - b) ** 2 for a, b in zip(*seen)) ** 0.5


def over(colour, opacity, ground):
    """A colour that lets the ground shine through."""
    return [opacity * part + (1 - opacity) * below for part, below in zip(colour, ground)]
