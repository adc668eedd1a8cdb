import { BASE_URL_DEFAULT, environment } from './environment.ts'
import { Transport, type TransportOptions } from './http/transport.ts'
import { Health } from './resources/health.ts'
import { Ledgers } from './resources/ledgers.ts'

export type TallystickOperatorOptions = Partial<Omit<TransportOptions, 'apiKey'>> & {
  /**
   * `tlo_…`: the only operator key of the server. It is not read from the environment, because agents read their keys
   * there.
   */
  readonly operatorKey: string
}

/**
 * Client for a server's operator: makes ledgers, freezes them, and issues their first keys.
 *
 *     const operator = new TallystickOperator({ baseUrl: 'http://localhost:3000', operatorKey: 'tlo_…' })
 *     const { key } = await operator.ledgers.create({ name: 'purchasing' })
 */
export class TallystickOperator {
  readonly ledgers: Ledgers
  readonly health: Health

  constructor({ operatorKey, ...options }: TallystickOperatorOptions) {
    const http = new Transport({
      ...options,
      baseUrl: options.baseUrl ?? environment.baseUrl() ?? BASE_URL_DEFAULT,
      apiKey: operatorKey,
    })
    this.ledgers = new Ledgers(http)
    this.health = new Health(http)
  }
}
