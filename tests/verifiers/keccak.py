"""Keccak-256 as Ethereum has it: that of hashlib is SHA3, with another padding."""

MASK, RATE = (1 << 64) - 1, 136


def keccak_256(message):
    padded = message + b"\x01" + b"\0" * (-(len(message) + 1) % RATE)
    padded = padded[:-1] + bytes([padded[-1] | 0x80])
    lanes = [0] * 25
    for start in range(0, len(padded), RATE):
        for lane in range(RATE // 8):
            at = start + 8 * lane
            lanes[lane] ^= int.from_bytes(padded[at : at + 8], "little")
        lanes = permuted(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def permuted(lanes):
    """Keccak-f[1600]; the lane at x, y is number x + 5y."""
    constants = 1
    for _ in range(24):
        sums = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        theta = [sums[x - 1] ^ rotated(sums[(x + 1) % 5], 1) for x in range(5)]
        lanes = [lane ^ theta[at % 5] for at, lane in enumerate(lanes)]
        x, y, current = 1, 0, lanes[1]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            at = x + 5 * y
            current, lanes[at] = lanes[at], rotated(current, (step + 1) * (step + 2) // 2 % 64)
        lanes = [
            lane ^ (~lanes[at // 5 * 5 + (at + 1) % 5] & lanes[at // 5 * 5 + (at + 2) % 5] & MASK)
            for at, lane in enumerate(lanes)
        ]
        for power in range(7):
            if constants & 1:
                lanes[0] ^= 1 << ((1 << power) - 1)
            constants = (constants << 1) ^ (0x171 if constants & 0x80 else 0)
    return lanes


def rotated(lane, bits):
    return ((lane << bits) | (lane >> (64 - bits))) & MASK
