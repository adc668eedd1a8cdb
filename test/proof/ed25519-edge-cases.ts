/*
 * Encodings of Ed25519 points that no verifier may take, as key or as R: those of the papers "Taming the many EdDSAs"
 * (Chalkias, Garillot, Nikolaenko) and "It's 255:19AM" (de Valence), and of libsodium's blacklist.
 */

/** The eight points of small order, in all their encodings below p and with either sign bit. */
export const SMALL_ORDER_POINTS: readonly (readonly [string, string])[] = [
  ['order 1', '0100000000000000000000000000000000000000000000000000000000000000'],
  ['order 1, sign bit set', '0100000000000000000000000000000000000000000000000000000000000080'],
  ['order 2', 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['order 2, sign bit set', 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'],
  ['order 4', '0000000000000000000000000000000000000000000000000000000000000000'],
  ['order 4, negative', '0000000000000000000000000000000000000000000000000000000000000080'],
  ['order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
  ['order 8, negative', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85'],
  ['order 8, other y', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
  ['order 8, other y, negative', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'],
]

/** y from p = 2^255 - 19 up to 2^255 - 1. */
export const NOT_CANONICAL_POINTS: readonly (readonly [string, string])[] = [
  ['y = p', 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['y = p, sign bit set', 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'],
  ['y = p + 1', 'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['y = p + 1, sign bit set', 'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'],
  ['y = p + 5', 'f2ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['y = 2^255 - 1', 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['y = 2^255 - 1, sign bit set', 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'],
]
