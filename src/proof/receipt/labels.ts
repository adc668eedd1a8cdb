/* Labels and values of receipts (docs/formats/receipts.md). */

// RFC 9942
export const RECEIPTS = 394
export const VDS = 395
export const VDP = 396
export const RFC9162_SHA256 = 1
export const INCLUSION = -1
export const CONSISTENCY = -2

// Ours: labels for private use are below -65536
/** In the protected header: number of leaves under the root that is signed. */
export const SIZE = -65_537
/** In the unprotected header: one record of the batch whose entry the receipt is of. */
export const ITEM = -65_538
