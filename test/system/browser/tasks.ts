import type { ExportOptions, ProofOptions, VerificationError } from '../../../sdk/verify/index.ts'

export type Task = { readonly name: string; readonly withoutWebCrypto?: true } & (
  | { readonly kind: 'file' | 'stream'; readonly options: ExportOptions }
  | { readonly kind: 'proof'; readonly proof: object; readonly options: ProofOptions }
)

export type PageResult = {
  readonly name: string
  readonly ms: number
  readonly found: object | null
  readonly refused: Pick<VerificationError, 'name' | 'code' | 'seq' | 'message'> | null
}
