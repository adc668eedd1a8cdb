import type { SignatureAlgorithm } from '../crypto.ts'
import type { ProofErrorCode } from '../error.ts'
import { AGENT_KEYS_MAX, ISSUER_KEYS_MAX } from '../limits.ts'

type KeyUse = {
  /** Name of a key: `thumbprint` (RFC 9679), `note` (c2sp.org/signed-note), or `issuer`, its issuer's own choice. */
  readonly kid: 'thumbprint' | 'note' | 'issuer'
  readonly algorithms: readonly SignatureAlgorithm[]
  readonly holder: string
  /** Voucher for a holder's first key. */
  readonly first: string
  /**
   * How a current key of the holder endorses a further one: by the signature of the entry that gives the further key, or by a signature over a text of its own.
   * null: no key endorses another; the entry that gives a key takes the place of all before it, or no entry gives any.
   */
  readonly further: 'signs the entry' | 'signs a text' | null
  /** Keys of one holder that are current at a time. With one, a further key ends the one before it. */
  readonly currentMax: number
  /** Codes for a kid that was given before, and for a key that nothing endorses. Absent: the chain does not follow keys of this use. */
  readonly twice?: ProofErrorCode
  readonly unendorsed?: ProofErrorCode
}

/**
 * Uses of keys. A key signs what stands behind the entry that gives it, up to the entry that ends it. A holder's first key comes by
 * whoever may make that entry; each further one is endorsed by a current key of the same holder (ledger/key-ring.ts).
 */
export const KEY_USES = {
  envelope: {
    kid: 'thumbprint',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'ledger',
    first: 'the definition, which it signs',
    further: 'signs the entry',
    currentMax: 1,
    twice: 'key_not_current',
    unendorsed: 'key_not_current',
  },
  note: {
    kid: 'note',
    algorithms: ['EdDSA'],
    holder: 'ledger',
    first: 'the definition',
    further: null,
    currentMax: 1,
  },
  agent: {
    kid: 'thumbprint',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'agent',
    first: 'whoever manages agents',
    further: 'signs a text',
    currentMax: AGENT_KEYS_MAX,
    twice: 'duplicate_subject',
    unendorsed: 'agent_key_refused',
  },
  peer: {
    kid: 'thumbprint',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'peering',
    first: 'the handshake',
    further: 'signs the entry',
    currentMax: 1,
    twice: 'key_not_current',
    unendorsed: 'key_not_current',
  },
  issuer: {
    kid: 'issuer',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'issuer',
    first: 'whoever sets policies',
    further: null,
    currentMax: ISSUER_KEYS_MAX,
  },
  witness: {
    kid: 'note',
    algorithms: ['EdDSA'],
    holder: 'witness',
    first: 'whoever verifies',
    further: null,
    currentMax: 1,
  },
} as const satisfies Record<string, KeyUse>

export type KeyUseName = keyof typeof KEY_USES
