import { readFileSync } from 'node:fs'
import type { ProofErrorCode } from '../../src/proof/error.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import type { BatchItem } from '../../src/proof/statement/batch.ts'
import type { EntryKind } from '../../src/proof/statement/kinds.ts'

/** Vectors of test/vectors/vectors.json, which an implementation in another language made. Bytes are lower-case hex. */
type Vectors = {
  readonly key: {
    readonly seed: string
    readonly publicKey: string
    readonly spki: string
    readonly kid: string
  }
  readonly issuer: string
  readonly origin: string
  readonly ledger: string
  readonly ledgerUuid: string
  readonly agent: string
  readonly agentUuid: string
  readonly genesis: string
  readonly entries: readonly VectorEntry[]
  readonly checkpoint: { readonly noteKeySeed: string; readonly verifierKey: string; readonly note: string }
  /**
   * Signed export lines that must be refused with `code`. A test puts each of them in place of the line of the ledger's
   * batch.
   */
  readonly refusedBatches: readonly {
    readonly about: string
    readonly code: ProofErrorCode
    readonly line: object
  }[]
  readonly refusedJson: readonly string[]
  readonly acceptedJson: readonly string[]
}

type VectorEntry = {
  readonly seq: number
  readonly kind: EntryKind
  readonly statement: string
  readonly protected: string
  readonly toBeSigned: string
  readonly envelope: string
  readonly leaf: string
  readonly chain: string
  readonly merkleRoot: string
  readonly documents?: readonly {
    readonly document: JsonValue
    readonly salt: string
    readonly jcs: string
    readonly digest: string
    readonly references?: readonly string[]
  }[]
  readonly items?: readonly BatchItem[]
  readonly itemLeaves?: readonly string[]
  readonly paths?: readonly (readonly string[])[]
}

const file = new URL('../vectors/vectors.json', import.meta.url)
export const vectors: Vectors = JSON.parse(readFileSync(file, 'utf8'))
