/** A public key as servers show it: a hint, because its kid is the thumbprint of its bytes. */
export type KeyHint = {
  readonly kid: string
  readonly alg: string
  readonly spki: string
  readonly compromisedAt: string | null
}
