import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Book } from '../../../examples/settlement/book.ts'
import { Tallystick } from '../../../sdk/index.ts'
import type * as verify from '../../../sdk/verify/index.ts'
import { buildSdk } from '../../../tools/build-sdk.ts'
import { expectStatus, type TestApp } from '../../helpers/app.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { addAgent, addKey } from '../../helpers/more-keys.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'
import { type Endpoint, makeEndpoint, type Sent } from '../../sdk/webhook-sender.ts'
import { freePort } from '../deployment/installation.ts'
import { compile, runAll, writeCodeBlocks } from './code-blocks.ts'
import { openProject, type Project, type Running } from './project.ts'

type Keys = Pick<Endpoint, 'secret' | 'publicKey'>

const VALID_MS = 2_500
const SAYS_MS_MAX = 15_000

test('the receiver of settlement signals', async (t) => {
  await buildSdk()
  const project = await openProject(t, { TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.1/32' })
  const endpoint = makeEndpoint()
  const receiver = await openReceiver(project, endpoint)
  const disputed = await judge(project.app, { verdict: 'reject' })
  await step(project.app, disputed, 'overturn', { reason: 'the appeal was granted' })
  const [hold, release] = await signalsOf(project.app, disputed, 2)

  await t.test('acts once on each version of a record, and ignores an older version', async () => {
    await receiver.takes(hold!, `HOLD ${disputed}/5: held`)
    await receiver.takes(release!, `RELEASE ${disputed}/6: paid`)
    await receiver.takes(release!, `RELEASE ${disputed}/6: known, or overtaken`)
    await receiver.takes(hold!, `HOLD ${disputed}/5: known, or overtaken`)
  })

  await t.test('remembers after a restart what was paid', async () => {
    const again = await openReceiver(project, endpoint)
    await again.takes(release!, `RELEASE ${disputed}/6: known, or overtaken`)
  })

  await t.test('ignores other events, and refuses forged or contradictory ones with 400', async () => {
    assert.equal(await receiver.send({ type: 'webhook.test', timestamp: '', data: {} }), 204)
    assert.equal(await receiver.post(makeEndpoint().send(hold)), 400)
    const told = { ...hold!.data, signal: { ...hold!.data.signal, decision: 'SETTLE' } }
    assert.equal(await receiver.send({ ...hold, data: told }), 400)
    await says(
      receiver.running,
      'VerificationError: event_contradicts_envelope: signal differs from the signed value',
    )
  })

  await t.test('answers an expired signal with 204 and pays nothing', async () => {
    const late = await judge(project.app, { verdict: 'accept', validMs: VALID_MS })
    await sleep(VALID_MS + 1)
    const [settle] = await signalsOf(project.app, late, 1)
    await receiver.takes(settle!, `signal_expired: SETTLE of ${late}/5`)
  })

  await t.test('gets a verdict and its overturning from the ledger itself', async () => {
    const port = await freePort()
    const running = await startReceiver(project, await makeWebhook(project, port), port)
    const buyer = new Tallystick({ baseUrl: project.url, apiKey: project.apiKey })
    const { id } = await deliver(buyer, project.url)
    await buyer.records.verdict(id, { verdict: 'reject' })
    await says(running, `HOLD ${id}/5: held`)
    await buyer.records.overturn(id, { reason: 'the appeal was granted' })
    await says(running, `RELEASE ${id}/6: paid`)
  })

  await t.test('the code on the page about receiving webhooks compiles strictly, and runs', async () => {
    const page = 'docs/guides/receiving-webhooks.md'
    const blocks = writeCodeBlocks([page])
    await compile(blocks)
    await runAll(blocks.folder, blocks.files[page]!, bareEnvironment())
    const { secret, publicKey, send } = endpoint
    Object.assign(process.env, { WEBHOOK_SECRET: secret, WEBHOOK_PUBLIC_KEY: publicKey })
    const [receiving, acting] = await Promise.all(blocks.files[page]!.map((file) => import(file)))
    const request = ({ body, headers }: Sent) =>
      new Request('https://receiver.example', { method: 'POST', body, headers })
    assert.equal((await receiving.receive(request(send(release)))).status, 204)
    const refused = await receiving.receive(request(makeEndpoint().send(release)))
    assert.deepEqual([refused.status, await refused.text()], [400, 'signature_mismatch'])
    const { keys } = (await project.app.send('GET', '/.well-known/tallystick-keys.json')).json()
    const trust = { ledger: release!.data.ledger, keys }
    assert.equal(await acting.act(release, trust), `RELEASE ${disputed} under ${disputed}/6`)
  })
})

test('the book pays a record once, whatever follows, and does not open damaged', (t) => {
  const files = temporaryFiles(t)
  const path = files.write('book.ndjson', '')
  const signal = (record: string, version: number, decision: string) =>
    ({ record, version, decision }) as verify.VerifiedSignal
  const book = new Book(path)
  assert.equal(book.take(signal('rec_1', 5, 'SETTLE')), 'paid')
  assert.equal(book.take(signal('rec_2', 5, 'HOLD')), 'held')
  // Simulates a book that was restored from a backup, after which the records were judged again.
  const again = new Book(path)
  for (const decision of ['SETTLE', 'RELEASE', 'HOLD'])
    assert.match(again.take(signal('rec_1', 7 + decision.length, decision)), /^(paid before|known)/)
  assert.equal(again.take(signal('rec_2', 6, 'RELEASE')), 'paid')
  assert.match(new Book(path).take(signal('rec_2', 8, 'RELEASE')), /^paid before/)
  for (const damaged of ['{"record":', '{"record":"rec_1","version":5,"decision":"SETTLE"}', '\n'])
    assert.throws(() => new Book(files.write('damaged.ndjson', damaged)), /is damaged/)
})

async function says(running: Running, text: string): Promise<void> {
  const late = sleep(SAYS_MS_MAX, undefined, { ref: false })
  await Promise.race([running.says(text), late.then(() => assert.fail(`it does not say ${text}`))])
}

async function makeWebhook({ app }: Project, port: string): Promise<Keys> {
  const body = { url: `http://127.0.0.1:${port}/`, events: ['signal.emitted'] }
  const { secret, secrets } = expectStatus(201, await app.send('POST', '/v1/webhooks', { body })).json()
  return { secret, publicKey: secrets[0].publicKey }
}

async function deliver(buyer: Tallystick, baseUrl: string) {
  const { key } = await buyer.keys.create({ name: 'supplier', scopes: ['records:write'] })
  const supplier = new Tallystick({ baseUrl, apiKey: key })
  const { id } = await buyer.records.create({ payload: { deliver: 100 } })
  await supplier.records.activate(id)
  await supplier.records.complete(id, { evidence: { delivered: 100 } })
  return buyer.records.until(id, ['VERIFIED'])
}

async function startReceiver(project: Project, { secret, publicKey }: Keys, port: string): Promise<Running> {
  const env = { WEBHOOK_SECRET: secret, WEBHOOK_PUBLIC_KEY: publicKey }
  const running = project.start('settlement', ['--port', port], env)
  await says(running, 'settles what led_')
  return running
}

async function openReceiver(project: Project, endpoint: Endpoint) {
  const port = await freePort()
  const running = await startReceiver(project, endpoint, port)
  const post = async ({ body, headers }: Sent) =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })).status
  const send = (event: unknown) => post(endpoint.send(event))
  return {
    running,
    post,
    send,
    async takes(event: unknown, said: string): Promise<void> {
      assert.equal(await send(event), 204)
      await says(running, said)
    },
  }
}

async function step(app: TestApp, id: string, name: string, body: object, key?: string): Promise<void> {
  expectStatus(200, await app.send('POST', `/v1/records/${id}/${name}`, { body, ...(key && { key }) }))
}

async function judge(
  app: TestApp,
  { verdict, validMs }: { verdict: 'accept' | 'reject'; validMs?: number },
): Promise<string> {
  const performer = await addAgent(app, `performer of what is judged ${verdict}`)
  const key = await addKey(app, { agent: performer, scopes: ['records:write'] })
  const { id } = await app.notarize({ type: 'task/1', payload: { deliver: 100 }, performer })
  await step(app, id, 'activate', {}, key)
  await step(app, id, 'completions', { evidence: { delivered: 100 } }, key)
  await until(async () => (await app.send('GET', `/v1/records/${id}`)).json().state === 'VERIFIED')
  const validUntil = validMs && new Date(Date.now() + validMs).toISOString()
  await step(app, id, 'verdict', { verdict, ...(validUntil && { validUntil }) })
  return id
}

/** Returns the record's settlement signals as soon as there are `count` of them. */
async function signalsOf(app: TestApp, id: string, count: number): Promise<verify.SignalEvent[]> {
  let signals: verify.SignalEvent[] = []
  await until(async () => {
    const { data } = (await app.send('GET', '/v1/events?events=signal.emitted')).json()
    signals = data.filter((event: verify.SignalEvent) => event.data.record.id === id)
    return signals.length === count
  })
  return signals.map(({ type, timestamp, data }) => ({ type, timestamp, data }))
}
