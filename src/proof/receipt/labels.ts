/* Labels and values of receipts (docs/formats/receipts.md). */

// RFC 9942
export const RECEIPTS = 394
export const VDS = 395
export const VDP = 396
export const RFC9162_SHA256 = 1
export const INCLUSION = -1
export const CONSISTENCY = -2

// Our own labels. RFC 9052 reserves labels below -65536 for private use.
/** Label in the protected header: number of leaves under the signed root. */
export const SIZE = -65_537
/** Label in the unprotected header: one record of the batch that the receipt's entry notarizes. */
export const ITEM = -65_538
