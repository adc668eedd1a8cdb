import type { Random } from '../../../helpers/mutate/random.ts'
import type { Archive } from './archives.ts'

export type Trust = {
  readonly noteKey?: string
  readonly kids?: readonly string[]
  readonly witnesses?: readonly string[]
  readonly agentKeys?: Readonly<Record<string, readonly string[]>>
  readonly compromised?: Readonly<Record<string, string | null>>
  readonly checkpoints?: readonly string[]
  readonly strict?: boolean
  readonly depth?: number
  readonly alg?: string
  readonly issuerKey?: { readonly alg: string; readonly spki: string }
  /** Folder of an archive. If the archive has keys, the first element of `parts` is the file of keys. */
  readonly directory?: string
}

export type Made = {
  readonly how: string
  readonly trust: Trust
  readonly parts: readonly Uint8Array[]
  readonly archive?: Archive
}

export type Maker = (random: Random) => Made
