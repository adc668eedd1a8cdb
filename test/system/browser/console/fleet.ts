import { Tallystick } from '../../../../sdk/client.ts'
import type { BuiltInTypes } from '../../../../sdk/generated/built-in-types.ts'
import { agentSigner, makePrivateKey } from '../../../../sdk/signing/index.ts'
import { until } from '../../../helpers/wait.ts'
import { type Served, serve } from './server.ts'

export type Fleet = {
  readonly served: Served
  readonly ledger: string
  /** Keys of the agent `operations`: one with every scope, one with only read scopes. */
  readonly keys: { readonly all: string; readonly reads: string }
  readonly client: Tallystick
  readonly records: {
    /** First action of a run. One of the actions below this action has no outcome. */
    readonly run: string
    readonly open: string
    readonly denied: string
    readonly approval: string
    readonly signed: string
    readonly accepted: string
    /** A record that waits for the verdict of `operations`. */
    readonly waiting: string
    readonly erased: string
    readonly inBatch: string
    readonly toTamper: string
  }
  readonly trace: string
  readonly peer: string
  readonly witnessKey: string
  close(): Promise<void>
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

export async function makeFleet(): Promise<Fleet> {
  const [served, other] = await Promise.all([serve(), serve()])
  const { made, client, key } = await served.newLedger('Fleet of Example Ltd')
  const reads = await client.keys.create({ name: 'console', scopes: ['records:read', 'audit:read'] })
  const agents = await makeAgents(served, client)
  const run = await recordRun(agents)
  const gated = await recordGated(client, agents)
  const batch = await client.batches.notarize(
    Array.from({ length: 20 }, (_, i) => ({
      type: 'generic/1' as const,
      payload: { tool: 'fetch', page: i },
    })),
  )
  const erased = await client.records.notarize({ payload: { customer: 'Jane Roe' } })
  await client.records.erasePayload(erased.id, { code: 'data_subject_request' })
  await client.webhooks.create({ url: 'https://hooks.example/tallystick', events: ['verdict.rendered'] })
  const peer = await peerWith(client, other, gated.accepted)
  await client.retention.setRule({ days: 400, basis: 'policy_7' })
  await client.retention.setRule({ days: 800, basis: 'policy_8' })
  await client.holds.set({ case: '2026/17', records: [gated.accepted] })
  const toTamper = await client.records.notarize({
    payload: { invoice: 'INV-2203', amount: '118.00', paidTo: 'Acme' },
    references: ['order:77'],
  })
  await client.audits.run()
  return {
    served,
    ledger: made.ledger.id,
    keys: { all: key, reads: reads.key },
    client,
    records: { ...run, ...gated, inBatch: batch.records[0]!.id, erased: erased.id, toTamper: toTamper.id },
    trace: TRACE,
    peer,
    witnessKey: (await client.peers.get(peer)).witness!.key!,
    async close() {
      await served.close()
      await other.close()
    },
  }
}

type Agents = Readonly<Record<'researcher' | 'buyer' | 'courier', Tallystick>> & {
  readonly courierId: string
}

async function makeAgents(served: Served, client: Tallystick): Promise<Agents> {
  const make = async (name: string) => {
    const agent = await client.agents.register({ name })
    const scopes = ['records:write', 'records:read:own'] as const
    const key = await client.keys.create({ name, agent: agent.id, scopes: [...scopes] })
    return { id: agent.id, key: key.key }
  }
  const [researcher, buyer, courier] = [await make('researcher'), await make('buyer'), await make('courier')]
  const { id: ledger } = await client.ledger.get()
  const signer = await agentSigner({ pkcs8: await makePrivateKey('EdDSA') })
  await client.agents.registerSigningKey(buyer.id, await signer.registration({ ledger, agent: buyer.id }))
  return {
    researcher: served.clientOf(researcher.key),
    buyer: new Tallystick({ baseUrl: served.url, apiKey: buyer.key, signer }),
    courier: served.clientOf(courier.key),
    courierId: courier.id,
  }
}

async function recordRun({ researcher, buyer }: Agents) {
  const framework = 'example/1'
  const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`
  const act = (
    by: Tallystick,
    kind: 'tool' | 'agent' | 'model',
    name: string,
    parent: string | undefined,
    given: object,
  ) =>
    by.records.notarize(
      {
        type: 'agent-action/1',
        payload: { kind, name, framework, arguments: given, told: 'held' },
        ...(parent && { parent }),
      },
      { traceparent },
    )
  const end = (by: Tallystick, parent: string, payload: BuiltInTypes['agent-outcome/1']['payload']) =>
    by.records.notarize({ type: 'agent-outcome/1', parent, payload }, { traceparent })
  const root = await act(researcher, 'agent', 'restock', undefined, { goal: 'restock warehouse 4' })
  const search = await act(researcher, 'tool', 'search', root.id, { query: 'price of copper' })
  await end(researcher, search.id, { status: 'ok', durationMs: 412, result: { hits: 3 } })
  const fetch = await act(researcher, 'tool', 'fetch', root.id, { url: 'https://supplier.example/prices' })
  await end(researcher, fetch.id, {
    status: 'error',
    errorType: 'TimeoutError',
    error: 'no answer within 10 s',
    durationMs: 10_000,
  })
  const pay = await act(buyer, 'tool', 'pay_invoice', root.id, { invoice: 'INV-2201', amount: '4900.00' })
  const approval = await buyer.records.notarize(
    {
      type: 'approval/1',
      parent: pay.id,
      payload: {
        decision: 'allow',
        by: { kind: 'person', id: 'ada' },
        why: 'within budget',
        name: 'pay_invoice',
      },
    },
    { traceparent },
  )
  const paid = await end(buyer, pay.id, { status: 'ok', durationMs: 2_150, name: 'pay_invoice' })
  const drop = await act(researcher, 'tool', 'delete_table', root.id, { table: 'orders' })
  await researcher.records.notarize(
    {
      type: 'approval/1',
      parent: drop.id,
      payload: {
        decision: 'deny',
        by: { kind: 'policy', id: 'no-deletes' },
        why: 'deletes need a person',
        name: 'delete_table',
      },
    },
    { traceparent },
  )
  const denied = await end(researcher, drop.id, { status: 'denied', name: 'delete_table' })
  const open = await act(researcher, 'tool', 'send_mail', root.id, { to: 'sales@supplier.example' })
  await end(researcher, root.id, { status: 'ok', durationMs: 61_000 })
  return { run: root.id, open: open.id, denied: denied.id, approval: approval.id, signed: paid.id }
}

async function recordGated(client: Tallystick, { courier, courierId }: Agents) {
  const order = async (boxes: number) => {
    const { id } = await client.records.create({
      payload: { deliver: 'copper wire', boxes },
      performer: courierId,
    })
    await courier.records.activate(id)
    await courier.records.complete(id, { evidence: { delivered: boxes, signedBy: 'J. Doe' } })
    await client.records.until(id, ['VERIFIED'])
    return id
  }
  await client.records.create({ payload: { deliver: 'pallets', boxes: 3 } })
  const accepted = await order(100)
  await client.records.verdict(accepted, { verdict: 'accept', reason: 'all boxes counted' })
  return { accepted, waiting: await order(40) }
}

/**
 * Makes a peering with a ledger of another server. The other ledger receives one of our records and cosigns our
 * checkpoints.
 */
async function peerWith(client: Tallystick, other: Served, shared: string): Promise<string> {
  const { client: theirs } = await other.newLedger('Supplier')
  const { id, invitation } = await client.peers.invite({ name: 'supplier' })
  await theirs.peers.accept({ name: 'example', invitation })
  await until(async () => (await client.peers.get(id)).state === 'active')
  await client.records.share(shared, { share: [{ peer: id, documents: 'whole' }] })
  await until(async () => ((await client.peers.get(id)).witness?.cosignedSize ?? 0) > 0)
  await until(async () => (await client.peers.reconcile(id)).reconciled)
  return id
}
