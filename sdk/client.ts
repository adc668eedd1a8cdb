import { environment } from './environment.ts'
import { Transport, type TransportOptions } from './http/transport.ts'
import { Batches } from './resources/batches.ts'
import { Records } from './resources/records.ts'
import type { AnyTypes, TypeMap } from './typed.ts'

export type TallystickOptions = Partial<TransportOptions>

const BASE_URL_DEFAULT = 'http://localhost:3000'

/**
 * A ledger, through the API key of one of its agents.
 *
 *     const tallystick = new Tallystick({ baseUrl: 'http://localhost:3000', apiKey: 'tly_…' })
 *     await tallystick.records.notarize({ payload: { tool: 'search', query: 'price of copper' } })
 *
 * What is not given comes from TALLYSTICK_URL and TALLYSTICK_API_KEY. Throws UsageError where there is no key.
 */
export class Tallystick<Types extends TypeMap = AnyTypes> {
  readonly records: Records<Types>
  readonly batches: Batches<Types>
  readonly #http: Transport

  constructor(options: TallystickOptions = {}) {
    this.#http = new Transport({
      ...options,
      baseUrl: options.baseUrl ?? environment.baseUrl() ?? BASE_URL_DEFAULT,
      apiKey: options.apiKey ?? environment.apiKey() ?? '',
    })
    this.records = new Records(this.#http)
    this.batches = new Batches(this.#http)
  }
}
