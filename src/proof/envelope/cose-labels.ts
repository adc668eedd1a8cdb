/* COSE labels and values common to envelopes, receipts and registered statements. */

// RFC 9052 §4.2
export const COSE_SIGN1_TAG = 18

// RFC 9052 §3.1, RFC 9597 §2
export const ALG = 1
export const CRIT = 2
export const CONTENT = 3
export const KID = 4
export const CLAIMS = 15

// RFC 8392 §4
export const CLAIM_ISSUER = 1
export const CLAIM_SUBJECT = 2
export const ISSUED_AT = 6

export const EDDSA = -8
