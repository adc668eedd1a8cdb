import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { verify } from '@tallystick/sdk'

/** Result of a signal: the payer acted on the signal, or the reason why it did not. */
export type Taken = 'paid' | 'held' | 'known, or overtaken' | 'paid before: somebody must look'

type Line = Pick<verify.VerifiedSignal, 'record' | 'version' | 'decision'>

/**
 * File of the signals on which the payer acted, one per line. It takes the place of the payer's database. In a
 * database, one transaction would read the record, store its version and order the payment. One unique key would be on
 * record and version, and another on the paid records.
 */
export class Book {
  readonly #file: number
  readonly #versions = new Map<string, number>()
  readonly #paid = new Set<string>()

  constructor(path: string) {
    this.#file = openSync(path, 'a+', 0o600)
    const text = readFileSync(this.#file, 'utf8')
    try {
      for (const line of text.split('\n').slice(0, -1)) this.#note(JSON.parse(line) as Line)
      if (text !== '' && !text.endsWith('\n')) throw new Error('its last line is cut off')
    } catch (error) {
      closeSync(this.#file)
      throw new Error(`${path} is damaged, so what was paid is not known`, { cause: error })
    }
  }

  /**
   * Takes a signal. A signal may arrive twice, or after a later signal (a dead letter that was delivered by hand).
   * Therefore a signal counts only if its version of the record is higher than the last. A record is paid at most once,
   * because a ledger restored from a backup may judge the record again.
   */
  take({ record, version, decision }: verify.VerifiedSignal): Taken {
    if (version <= (this.#versions.get(record) ?? 0)) return 'known, or overtaken'
    const isPaid = this.#paid.has(record)
    const line = { record, version, decision }
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
    fsyncSync(this.#file)
    this.#note(line)
    if (isPaid) return 'paid before: somebody must look'
    return decision === 'HOLD' ? 'held' : 'paid'
  }

  #note({ record, version, decision }: Line): void {
    this.#versions.set(record, version)
    if (decision !== 'HOLD') this.#paid.add(record)
  }
}
