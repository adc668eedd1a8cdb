import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AgentCard, type Message, Role, TaskState } from '@a2a-js/sdk'
import { ClientFactory } from '@a2a-js/sdk/client'
import {
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import { verify } from '@tallystick/sdk'
import {
  agentExtension,
  type Carried,
  carriedBy,
  type RecordCallsOptions,
  recordCalls,
  recordingExecutor,
} from '../a2a/index.ts'
import { openLedger, type TestLedger } from './ledger.ts'

test('agents that speak A2A', async (t) => {
  const ours = await openLedger(t, { hasWorker: true })
  const theirs = await openLedger(t)
  const actions = ours.actions()
  // So that each record is there before its message, however slow the machine is.
  const held = { failClosed: true, holdMsMax: 60_000 }
  const seller = theirs.actions(held)
  const connect = (options: RecordCallsOptions) =>
    new ClientFactory(recordCalls(options)).createFromAgentCard(cardOf(url))
  const ask = async (text: string, options: RecordCallsOptions = { actions }) =>
    (await connect(options)).sendMessage(requestOf(text))
  /** Says what it is asked; of `ask …` it asks itself, as another agent. */
  const executor = answering((text) => ask(text, { actions: seller }))
  const url = await startAgent(t, (card) => recordingExecutor(executor, { name: card.name, actions: seller }))
  const trees = async () => {
    await Promise.all([actions.flush(), seller.flush()])
    return [await ours.tree(), await theirs.tree()]
  }
  const find = async (ledger: TestLedger, query: string) =>
    (await ledger.app.send('GET', `/v1/records?${query}&order=asc`)).json().data

  await t.test(
    'both sides have the call and how it ended, and each knows the record of the other',
    async () => {
      const { tallystick: receipts } = ours
      const mine = ours.actions(held)
      const answer = (await ask('copper', { actions: mine, receipts })) as Message
      await mine.flush()
      const line = 'agent seller · held · ok'
      assert.deepEqual(await trees(), [[line], [line]])
      const { record, traceparent } = carriedBy(answer)
      const traceId = traceparent!.slice(3, 35)
      const [asked, told] = await find(ours, `traceId=${traceId}`)
      const [heard] = await find(theirs, `traceId=${traceId}`)
      assert.deepEqual([heard.id, heard.payload.attributes.caller], [record, asked.id])
      assert.deepEqual(told.payload.attributes, { answerer: record })
      const receipt = Buffer.from(executor.heard.at(-1)!.receipt!, 'base64')
      const { noteVerifierKey: noteKey } = await receipts.ledger.get()
      const { seq } = await verify.receipt(receipt, { noteKey })
      assert.equal(seq, asked.entry.seq)
    },
  )

  await t.test('an agent that asks another one, a failure, a refusal and a server that is gone', async () => {
    await ask('ask tin')
    for (const text of ['fail', 'reject', 'throw']) await ask(text)
    const gone = await new ClientFactory(recordCalls({ actions })).createFromAgentCard(
      cardOf('http://127.0.0.1:1/'),
    )
    await assert.rejects(gone.sendMessage(requestOf('anybody?')))
    const [mine, sellers] = await trees()
    const ends = ['ok', 'error · failed', 'denied · rejected', 'error · failed']
    assert.deepEqual(
      mine!.slice(0, 4),
      ends.map((end) => `agent seller · before · ${end}`),
    )
    assert.match(mine![4]!, /^agent seller · before · error · /)
    assert.deepEqual(sellers, [
      'agent seller · held · ok',
      '  agent seller · held · ok',
      'agent seller · held · ok',
      'agent seller · held · error · failed',
      'agent seller · held · denied · rejected',
      'agent seller · held · error · RangeError · no such metal',
    ])
  })

  await t.test('a stream, and one that its reader leaves', async () => {
    const client = await connect({ actions })
    for await (const _event of client.sendMessageStream(requestOf('copper')));
    for await (const _event of client.sendMessageStream(requestOf('long'))) break
    const [mine] = await trees()
    assert.deepEqual(mine, ['agent seller · before · ok', 'agent seller · before · unknown'])
  })

  await t.test('with failClosed a message is sent only when the ledger has the record', async () => {
    const closed = ours.actions({ failClosed: true, holdMsMax: 100, onError: () => {} })
    const heard = executor.heard.length
    ours.proxy.refuse()
    await assert.rejects(ask('zinc', { actions: closed }), /the ledger has no record of it/)
    ours.proxy.accept()
    assert.equal(executor.heard.length, heard)
    await closed.flush()
    assert.match((await ours.tree()).join(), /^agent seller · held · denied · NotRecordedError/)
  })
})

type Answering = AgentExecutor & { readonly heard: Carried[] }

function answering(ask: (text: string) => Promise<unknown>): Answering {
  const heard: Carried[] = []
  return {
    heard,
    cancelTask: async () => {},
    async execute({ userMessage, taskId, contextId }, bus) {
      heard.push(carriedBy(userMessage))
      const [part] = userMessage.parts
      const text = part?.content?.$case === 'text' ? part.content.value : ''
      const state = {
        fail: TaskState.TASK_STATE_FAILED,
        reject: TaskState.TASK_STATE_REJECTED,
        long: TaskState.TASK_STATE_WORKING,
      }[text]
      if (text === 'throw') throw new RangeError('no such metal')
      if (text.startsWith('ask ')) await ask(text.slice(4))
      if (state === undefined)
        bus.publish({
          kind: 'message',
          data: { ...messageOf(`${text}: 9,612`), contextId, role: Role.ROLE_AGENT },
        })
      else {
        const status = { state, message: undefined, timestamp: undefined }
        bus.publish({
          kind: 'task',
          data: { id: taskId, contextId, status, artifacts: [], history: [], metadata: {} },
        })
      }
      if (text === 'long') await sleep(200)
      bus.finished()
    },
  }
}

const requestOf = (text: string) => ({
  tenant: '',
  message: messageOf(text),
  configuration: undefined,
  metadata: undefined,
})

function messageOf(text: string): Message {
  return {
    messageId: crypto.randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [
      { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}

function cardOf(url: string): AgentCard {
  return {
    name: 'seller',
    description: 'prices',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    provider: undefined,
    version: '1',
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extensions: [agentExtension()],
      extendedAgentCard: false,
    },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  }
}

async function startAgent(t: TestContext, make: (card: AgentCard) => AgentExecutor): Promise<string> {
  const server = createServer(async (request, response) => {
    const context = new ServerCallContext({ requestedVersion: '1.0' })
    const answer = await handler.handle((await json(request)) as Record<string, unknown>, context)
    if (Symbol.asyncIterator in answer) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for await (const event of answer) response.write(`data: ${JSON.stringify(event)}\n\n`)
      response.end()
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const card = cardOf(url)
  const handler = new JsonRpcTransportHandler(
    new DefaultRequestHandler(card, new InMemoryTaskStore(), make(card)),
  )
  return url
}
