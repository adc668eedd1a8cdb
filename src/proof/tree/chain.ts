import { concat, utf8Encode } from '../bytes.ts'
import { HASH_BYTES, type Sha256 } from '../crypto.ts'

const GENESIS_PREFIX = utf8Encode('tallystick-chain-v1')
const LINK_PREFIX = 0x02

/**
 * Returns chain(-1), the chain hash before the first entry. The hash covers the ledger's uuid (16 bytes), so that no
 * two ledgers share a chain hash.
 */
export function genesis(sha256: Sha256, ledgerUuid: Uint8Array): Uint8Array {
  return sha256(concat([GENESIS_PREFIX, ledgerUuid]))
}

const scratch = new Uint8Array(1 + 2 * HASH_BYTES)
scratch[0] = LINK_PREFIX

/** Returns chain(n) = H(0x02 ‖ chain(n-1) ‖ leaf(n)). */
export function link(sha256: Sha256, previousChain: Uint8Array, leaf: Uint8Array): Uint8Array {
  scratch.set(previousChain, 1)
  scratch.set(leaf, 1 + HASH_BYTES)
  return sha256(scratch)
}
