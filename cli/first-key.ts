import type { Tallystick } from '../sdk/client.ts'
import { fromBase64, toHex } from '../src/proof/bytes.ts'
import { verifySignedEntry } from '../src/proof/entry/verify-entry.ts'
import { ProofError } from '../src/proof/error.ts'
import { makeFindKey } from '../src/proof/offline/key-hints.ts'
import { loadProviders } from '../src/verify/providers.ts'
import { RefusedError } from './run.ts'

/**
 * Returns the kid (hex) of the key that signed the ledger's first entry. Verifies the signature with the key that the
 * server publishes for this kid. Only this first read has to trust the server. Once the kid is pinned, any other ledger
 * that a server shows under the same id is detected. Throws RefusedError if the verification fails. Needs audit:read.
 */
export async function findFirstKid(client: Tallystick, ledger: string): Promise<string> {
  const [{ keys }, providers] = await Promise.all([client.keyDocument(), loadProviders()])
  const findKey = makeFindKey(keys, providers)
  try {
    for await (const line of client.entries.stream({ limit: 1 })) {
      const signed = { ...line, envelope: fromBase64(line.envelope) }
      const { envelope, statement } = verifySignedEntry(signed, findKey, providers)
      if (statement.kind === 'ledger-created' && statement.ledger === ledger) return toHex(envelope.kid)
    }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new RefusedError(`the ledger's first entry does not verify: ${error.message}`)
  }
  throw new RefusedError(`the server's first entry is not that of the ledger ${ledger}`)
}
