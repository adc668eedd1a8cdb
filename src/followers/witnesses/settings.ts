import type { Allowances } from '../../outside/connector/allowances.ts'
import { checkOutboundUrl } from '../../outside/connector/check-url.ts'
import { isLonger } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { parseWitnessPolicy } from '../../proof/tree/cosignature.ts'
import { type NoteKey, parseNoteKey } from '../../proof/tree/note.ts'
import { nativeProviders } from '../../signing/native.ts'
import { WITNESS_NAME_BYTES_MAX, WITNESSES_MAX } from '../limits.ts'

/** A configured witness. `url`: the witness's URL up to, but not including, `/add-checkpoint`. */
export type WitnessSetting = { readonly key: NoteKey; readonly url: string }

/**
 * A key and its URL are separated by spaces and tabs only. `\s` would match other characters too, which the name of a
 * key may contain.
 */
const BLANKS = /[ \t]+/

/**
 * Parses TALLYSTICK_WITNESSES: items `VKEY URL`, separated by commas or newlines. Throws an Error whose message names
 * the wrong item and says what to do.
 */
export function parseWitnesses(text: string, allowances: Allowances): WitnessSetting[] {
  const items = text
    .split(/[,\n]/)
    .map((item) => item.replace(/^[ \t\r]+|[ \t\r]+$/g, ''))
    .filter((item) => item !== '')
  if (items.length > WITNESSES_MAX)
    throw new Error(`there are ${items.length} witnesses; at most ${WITNESSES_MAX} are allowed`)
  const witnesses = items.map((item) => parseWitness(item, allowances))
  if (witnesses.length > 0) {
    const vkeys = items.map((item) => item.split(BLANKS)[0]!)
    withContext('the witnesses', () => parseWitnessPolicy(vkeys, 1, nativeProviders.sha256))
  }
  return witnesses
}

function parseWitness(item: string, allowances: Allowances): WitnessSetting {
  const [vkey = '', url = '', ...rest] = item.split(BLANKS)
  if (url === '' || rest.length > 0)
    throw new Error(`${item}: write each witness as its verifier key, a space and its URL`)
  const key = withContext(vkey, () => parseNoteKey(vkey, 'cosignature', nativeProviders.sha256))
  if (isLonger(key.name, WITNESS_NAME_BYTES_MAX))
    throw new Error(`${key.name}: the name of a witness may have at most ${WITNESS_NAME_BYTES_MAX} bytes`)
  const checked = checkOutboundUrl(url, allowances)
  if (!checked.ok) throw new Error(`${url}: ${checked.detail}`)
  return { key, url: url.replace(/\/+$/, '') }
}

function withContext<T>(what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new Error(
      `${what}: ${error.detail}; write the verifier key that \`tallystick witness\` prints, or that the witness’s operator publishes`,
    )
  }
}
