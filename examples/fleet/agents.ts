import { createHash } from 'node:crypto'
import { type Notarizer, Tallystick, type TallystickOptions } from '@tallystick/sdk'
import { type Delivery, euros, type FleetTypes } from './survey.ts'

/** Agents of the fleet and their scopes. The scopes allow each agent only its own work. */
const SCOPES = {
  planner: ['records:write', 'records:read:own'],
  researcher: ['records:write', 'records:read:own'],
  scraper: ['records:write', 'records:read:own'],
  arbiter: ['records:read', 'verdicts:overturn'],
  auditor: ['audit:read', 'records:read'],
} as const

export type Fleet = { readonly [Name in keyof typeof SCOPES]: FleetAgent }

/** Registers each agent, as a gateway would, and gives it a key of its own. */
export async function openFleet(gateway: Tallystick<FleetTypes>, server: TallystickOptions): Promise<Fleet> {
  const fleet: Record<string, FleetAgent> = {}
  for (const [name, scopes] of Object.entries(SCOPES)) {
    // Registers the agent too, unless the ledger already has an agent of this name.
    const { id, agent, key } = await gateway.keys.create({ name, scopes: [...scopes] })
    const client = new Tallystick<FleetTypes>({ ...server, apiKey: key })
    fleet[name] = new FleetAgent({ name, id: agent, keyId: id, client })
  }
  return fleet as Fleet
}

export class FleetAgent {
  readonly name: string
  readonly id: string
  readonly keyId: string
  readonly client: Tallystick<FleetTypes>
  /** Notarizer of the agent. It accepts records immediately, and sends them in batches. */
  readonly ledger: Notarizer<FleetTypes>

  constructor(agent: { name: string; id: string; keyId: string; client: Tallystick<FleetTypes> }) {
    this.name = agent.name
    this.id = agent.id
    this.keyId = agent.keyId
    this.client = agent.client
    this.ledger = agent.client.notarizer()
  }

  /** Calls a tool and records the call, without waiting for the ledger. */
  async callTool<Result>(tool: string, input: object, call: () => Result | Promise<Result>): Promise<Result> {
    const startedAt = performance.now()
    const result = await call()
    this.ledger.record({ tool, input, result, tookMs: Math.round(performance.now() - startedAt) })
    return result
  }

  /** Reads `count` prices, each with a tool call, and returns the delivery. */
  async collectPrices(topic: string, count: number): Promise<Delivery> {
    const lines: string[] = []
    for (let page = 1; page <= count; page++) {
      const cents = await this.callTool('fetch_price', { topic, page }, () => priceOf(topic, page))
      lines.push(`${page},${cents}`)
    }
    const sheet = createHash('sha256').update(lines.join('\n')).digest('hex')
    return { prices: lines.length, cost: euros(0.02 * count), sheet: `sha256:${sheet}` }
  }
}

/** Returns a price that is the same in every run. */
function priceOf(topic: string, page: number): number {
  return createHash('sha256').update(`${topic} ${page}`).digest().readUInt16BE(0)
}
