/*
 * npm run example -- fleet
 *
 * A fleet of simulated agents for the server of `npm start`. A planner commissions surveys of prices. A researcher
 * delivers them, and delegates a part to a scraper. Every tool call is notarized. Rules check every delivery, and then
 * it is judged. At the end an auditor exports the ledger and verifies it offline.
 */
import { Tallystick, verify } from '@tallystick/sdk'
import { credentials } from '../credentials.ts'
import { type Fleet, openFleet } from './agents.ts'
import { say, sayVerdict } from './story.ts'
import { euros, type FleetTypes, SURVEY } from './survey.ts'

const CHECKED = ['VERIFIED', 'DISCREPANT'] as const

const server = credentials()
const gateway = new Tallystick<FleetTypes>(server)
await gateway.types.register(SURVEY)
const fleet = await openFleet(gateway, server)
say('gateway', `registered ${Object.keys(fleet).join(', ')}: each has a key of its own`)

await surveyWithARevision(fleet)
await surveyInDispute(fleet)
await closeFleet(fleet)
await auditLedger(fleet.auditor.client)
for (const { keyId } of Object.values(fleet)) await gateway.keys.revoke(keyId)

async function surveyWithARevision({ planner, researcher, scraper }: Fleet): Promise<void> {
  const order = await planner.client.records.create({
    type: 'survey/1',
    payload: { topic: 'copper', prices: 20, budget: euros(1) },
    performer: researcher.id,
  })
  say('planner', 'wants 20 prices of copper for at most 1.00 EUR', order.id)
  await researcher.client.records.activate(order.id)

  // To delegate, the researcher commissions work itself, with the order as parent. With this gate, the rules alone
  // judge.
  const part = await researcher.client.records.create({
    type: 'survey/1',
    payload: { topic: 'copper', prices: 12, budget: euros(0.5) },
    performer: scraper.id,
    parent: order.id,
    gate: 'auto',
  })
  say('researcher', 'takes the order on, and passes 12 of them on to the scraper', part.id)
  await scraper.client.records.activate(part.id)
  await scraper.client.records.complete<'survey/1'>(part.id, {
    evidence: await scraper.collectPrices('copper', 12),
  })
  sayVerdict('rules', await researcher.client.records.until(part.id, ['ACCEPTED', 'REJECTED']))

  const tooFew = await researcher.collectPrices('copper', 18)
  await researcher.client.records.complete<'survey/1'>(order.id, { evidence: tooFew })
  const checked = await planner.client.records.until(order.id, CHECKED)
  say('researcher', `delivers 18 prices: ${checked.state}, ${failedRules(checked)}`)

  await planner.client.records.requestRevision(order.id, { reason: 'two prices are missing' })
  say('planner', 'asks for a revision: two prices are missing')
  const enough = await researcher.collectPrices('copper', 20)
  await researcher.client.records.complete<'survey/1'>(order.id, { evidence: enough })
  const { state, version } = await planner.client.records.until(order.id, CHECKED)
  say('researcher', `delivers 20 prices: ${state}`)

  // The verdict is only for the version that the planner has seen. After any change the version differs, and the
  // verdict is refused.
  sayVerdict(
    'planner',
    await planner.client.records.verdict(order.id, { verdict: 'accept' }, { ifVersion: version }),
  )
}

async function surveyInDispute({ planner, researcher, arbiter }: Fleet): Promise<void> {
  const { id } = await planner.client.records.create({
    type: 'survey/1',
    payload: { topic: 'tin', prices: 10, budget: euros(0.1) },
    performer: researcher.id,
  })
  say('planner', 'wants 10 prices of tin for at most 0.10 EUR', id)
  await researcher.client.records.activate(id)
  const delivery = await researcher.collectPrices('tin', 10)
  await researcher.client.records.complete<'survey/1'>(id, { evidence: delivery })
  const checked = await planner.client.records.until(id, CHECKED)
  say(
    'researcher',
    `delivers 10 prices for ${delivery.cost.amount} EUR: ${checked.state}, ${failedRules(checked)}`,
  )

  const rejection = { verdict: 'reject', reason: 'twice the budget' } as const
  sayVerdict('planner', await planner.client.records.verdict(id, rejection))
  sayVerdict('arbiter', await arbiter.client.records.overturn(id, { reason: 'the price had doubled since' }))
}

/** Sends the notarizers' waiting records before the keys are revoked. */
async function closeFleet(fleet: Fleet): Promise<void> {
  for (const { name, ledger } of Object.values(fleet)) {
    await ledger.close()
    if (ledger.stats.recorded > 0) say(name, `notarized ${ledger.stats.recorded} tool calls`)
  }
}

async function auditLedger(auditor: Tallystick<FleetTypes>): Promise<void> {
  const text = await new Response(await auditor.exports.stream()).text()
  const { entries, records } = await verify.export(text)
  say('auditor', `verified all ${entries} entries, ${records} records, offline`)
}

type Checked = {
  readonly gated: { readonly verification: { readonly rules: readonly Rule[] } | null } | null
}
type Rule = { readonly id: string; readonly outcome: string; readonly code?: string | undefined }

function failedRules({ gated }: Checked): string {
  const failed = (gated?.verification?.rules ?? []).filter(({ outcome }) => outcome === 'fail')
  return failed.map(({ id, code }) => `rule ${id} says ${code}`).join(', ')
}
