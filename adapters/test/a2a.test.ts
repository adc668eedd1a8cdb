import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AgentCard, type Message, Role, type Task, TaskState } from '@a2a-js/sdk'
import { ClientFactory } from '@a2a-js/sdk/client'
import {
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import { verify } from '@tallystick/sdk'
import { matchesDigest } from '@tallystick/sdk/actions'
import { freePort } from '../../test/helpers/free-port.ts'
import { Answer, type AnswerEvent } from '../a2a/answer.ts'
import {
  agentExtension,
  type Carried,
  carriedBy,
  type RecordCallsOptions,
  recordCalls,
  recordingExecutor,
} from '../a2a/index.ts'
import { openLedger, type TestLedger } from './ledger.ts'

const STATES = {
  completed: TaskState.TASK_STATE_COMPLETED,
  working: TaskState.TASK_STATE_WORKING,
  'input-required': TaskState.TASK_STATE_INPUT_REQUIRED,
  'auth-required': TaskState.TASK_STATE_AUTH_REQUIRED,
  failed: TaskState.TASK_STATE_FAILED,
  rejected: TaskState.TASK_STATE_REJECTED,
  canceled: TaskState.TASK_STATE_CANCELED,
} as const

const text = (value: string) => ({ text: value, mediaType: 'text/plain' })
const one = { name: 'quote', parts: [text('9,612')] }

/** Events that an agent publishes in order, and the result that both sides record. */
const ANSWERS: Readonly<Record<string, { tells: readonly Tells[]; ends: string; result: object }>> = {
  artifact: {
    tells: [{ artifact: 'a', say: ['9,612'] }, { state: 'completed' }],
    ends: 'ok',
    result: { artifacts: [one] },
  },
  'in chunks': {
    tells: [
      { artifact: 'a', say: ['9,'] },
      { artifact: 'a', say: ['612'], append: true },
      { artifact: 'b', say: ['x'] },
      { artifact: 'b', say: ['tin'] },
      { state: 'completed' },
    ],
    ends: 'ok',
    result: {
      artifacts: [
        { name: 'quote', parts: [text('9,'), text('612')] },
        { name: 'quote', parts: [text('tin')] },
      ],
    },
  },
  'status message': {
    tells: [
      { state: 'working', say: ['wait'] },
      { state: 'completed', say: ['9,612'] },
    ],
    ends: 'ok',
    result: { message: [text('9,612')] },
  },
  'both in one task': {
    tells: [
      { task: true, artifact: 'a', say: ['9,612'] },
      { state: 'completed', say: ['done'] },
    ],
    ends: 'ok',
    result: { artifacts: [one], message: [text('done')] },
  },
  nothing: { tells: [{ state: 'completed' }], ends: 'ok', result: {} },
  'ask back': {
    tells: [{ state: 'input-required', say: ['which metal?'] }],
    ends: 'unknown input-required',
    result: { message: [text('which metal?')] },
  },
  'sign in': { tells: [{ state: 'auth-required' }], ends: 'unknown auth-required', result: {} },
  failed: {
    tells: [
      { artifact: 'a', say: ['9,612'] },
      { state: 'failed', say: ['no'] },
    ],
    ends: 'error failed',
    result: { artifacts: [one], message: [text('no')] },
  },
  rejected: { tells: [{ state: 'rejected' }], ends: 'denied rejected', result: {} },
  canceled: { tells: [{ state: 'canceled' }], ends: 'unknown canceled', result: {} },
}

type Tells = {
  readonly task?: boolean
  readonly state?: keyof typeof STATES
  readonly artifact?: string
  readonly say?: readonly string[]
  readonly append?: boolean
}

test('agents that speak A2A', async (t) => {
  const ours = await openLedger(t, { hasWorker: true })
  const theirs = await openLedger(t)
  const actions = ours.actions()
  // Each message waits for its record, however slow the machine is.
  const held = { failClosed: true, holdMsMax: 60_000 }
  const seller = theirs.actions(held)
  const connect = (options: RecordCallsOptions) =>
    new ClientFactory(recordCalls(options)).createFromAgentCard(cardOf(url))
  const ask = async (text: string, options: RecordCallsOptions = { actions }) =>
    (await connect(options)).sendMessage(requestOf(text))
  /**
   * Answers with the text of the message. For `ask …` the agent first sends itself a message, as if another agent did.
   */
  const executor = answering((text) => ask(text, { actions: seller }))
  const url = await startAgent(t, (card) => recordingExecutor(executor, { name: card.name, actions: seller }))
  const trees = async () => {
    // If a client stopped reading, its agent still runs and records the end later. The ledger must not grow during the
    // verification.
    await executor.settled()
    await Promise.all([actions.flush(), seller.flush()])
    return [await ours.tree(), await theirs.tree()]
  }
  const find = async (ledger: TestLedger, query: string) =>
    (await ledger.app.send('GET', `/v1/records?${query}&order=asc`)).json().data

  await t.test(
    'both ledgers record the call and its outcome, each with the id of the other’s record',
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

  await t.test(
    'records a nested call, a failure, a refusal and an unreachable server with their outcomes',
    async () => {
      await ask('ask tin')
      for (const text of ['fail', 'reject', 'throw']) await ask(text)
      const gone = await new ClientFactory(recordCalls({ actions })).createFromAgentCard(
        cardOf(`http://127.0.0.1:${await freePort()}/`),
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
        'agent seller · held · error · RangeError',
      ])
    },
  )

  await t.test('a stream read to its end has the outcome ok; a stream left early, unknown', async () => {
    const client = await connect({ actions })
    for await (const _event of client.sendMessageStream(requestOf('copper')));
    for await (const _event of client.sendMessageStream(requestOf('long'))) break
    const [mine] = await trees()
    assert.deepEqual(mine, ['agent seller · before · ok', 'agent seller · before · unknown'])
  })

  for (const [story, { ends, result }] of Object.entries(ANSWERS)) {
    await t.test(`both outcomes contain the agent's answer, streamed or not: ${story}`, async () => {
      const buyer = ours.actions({ content: true })
      const client = await connect({ actions: buyer })
      await client.sendMessage(requestOf(story))
      for await (const _event of client.sendMessageStream(requestOf(story)));
      await buyer.flush()
      await trees()
      const outcomes = async (ledger: TestLedger) =>
        (await find(ledger, 'type=agent-outcome/1&limit=200')).slice(-2).map(({ payload }: Found) => payload)
      const mine = await outcomes(ours)
      const [asked, streamed] = await outcomes(theirs)
      for (const { status, errorType, attributes, result: found } of mine) {
        assert.equal([status, errorType, attributes.state].filter(Boolean).join(' '), ends)
        assert.deepEqual(found, result)
        assert.match(attributes.task, /./)
      }
      assert.deepEqual(asked.resultDigest, streamed.resultDigest)
      assert.ok(matchesDigest(mine[0].result, asked.resultDigest))
      assert.deepEqual([asked.status, asked.errorType], [mine[0].status, mine[0].errorType])
    })
  }

  await t.test('a stream that breaks has the outcome unknown: the task may be done', async () => {
    const client = await connect({ actions })
    const listen = async () => {
      for await (const _event of client.sendMessageStream(requestOf('break')));
    }
    await assert.rejects(listen)
    const [mine] = await trees()
    assert.match(mine!.join(), /^agent seller · before · unknown · [A-Za-z]*Error$/)
  })

  await t.test('a task that continues gets its outcome when the client sees its end', async () => {
    const client = await connect({ actions })
    const ends: string[] = []
    const configuration = {
      returnImmediately: true,
      acceptedOutputModes: [],
      historyLength: undefined,
      taskPushNotificationConfig: undefined,
    }
    const begin = async () => (await client.sendMessage({ ...requestOf('slow'), configuration })) as Task
    const note = async () => {
      await actions.flush()
      ends.push(...(await ours.tree()))
    }
    const { id } = await begin()
    await client.getTask({ tenant: '', id, historyLength: undefined })
    await note()
    executor.go()
    let task: Task
    do task = await client.getTask({ tenant: '', id, historyLength: undefined })
    while (task.status?.state !== TaskState.TASK_STATE_COMPLETED)
    await actions.flush()
    const [outcome] = (await find(ours, 'type=agent-outcome/1&limit=200')).slice(-1)
    const { id: other } = await begin()
    const events = client.resubscribeTask({ tenant: '', id: other })
    setTimeout(() => executor.go(), 50)
    for await (const _event of events);
    const { id: third } = await begin()
    await client.cancelTask({ tenant: '', id: third, metadata: undefined })
    await note()
    assert.deepEqual([outcome.payload.status, outcome.payload.attributes.task], ['ok', id])
    assert.deepEqual(ends, [
      'agent seller · before',
      'agent seller · before · ok',
      'agent seller · before · unknown · canceled',
    ])
  })

  await t.test('with failClosed a message is sent only when the ledger has the record', async () => {
    const closed = ours.actions({ failClosed: true, holdMsMax: 100, onError: () => {} })
    const heard = executor.heard.length
    ours.proxy.refuse()
    await assert.rejects(ask('zinc', { actions: closed }), /it is not in the ledger/)
    ours.proxy.accept()
    assert.equal(executor.heard.length, heard)
    await closed.flush()
    assert.match((await ours.tree()).join(), /^agent seller · held · denied · NotRecordedError/)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Found = any

/** `go`: continues the slow tasks. */
type Answering = AgentExecutor & { readonly heard: Carried[]; go(): void; settled(): Promise<void> }

function answering(ask: (text: string) => Promise<unknown>): Answering {
  const heard: Carried[] = []
  let waiting = withResolvers()
  const running = new Set<Promise<void>>()
  return {
    heard,
    async settled() {
      await Promise.allSettled(running)
      await sleep(0)
    },
    go() {
      waiting.resolve()
      waiting = withResolvers()
    },
    async cancelTask(taskId, bus) {
      tell(bus, { taskId, contextId: '' }, [{ state: 'canceled' }])
      waiting.resolve()
      waiting = withResolvers()
    },
    execute(request, bus) {
      const deed = execute(request, bus)
      running.add(deed)
      return deed.finally(() => running.delete(deed))
    },
  }

  async function execute({ userMessage, taskId, contextId }: RequestContext, bus: ExecutionEventBus) {
    heard.push(carriedBy(userMessage))
    const [part] = userMessage.parts
    const text = part?.content?.$case === 'text' ? part.content.value : ''
    const ids = { taskId, contextId }
    const story = ANSWERS[text]?.tells
    const state = ({ fail: 'failed', reject: 'rejected', long: 'working', break: 'working' } as const)[text]
    if (text === 'throw') throw new RangeError('no such metal')
    if (text.startsWith('ask ') && story === undefined) await ask(text.slice(4))
    if (story !== undefined) tell(bus, ids, story[0]?.task ? story : [{ task: true }, ...story])
    else if (state !== undefined) tell(bus, ids, [{ task: true, state }])
    else if (text === 'slow') {
      tell(bus, ids, [{ task: true, state: 'working' }])
      await waiting.promise
      tell(bus, ids, [{ state: 'completed' }])
    } else {
      const data = { ...messageOf(`${text}: 9,612`), contextId, role: Role.ROLE_AGENT }
      bus.publish({ kind: 'message', data })
    }
    if (text === 'long') await sleep(200)
    bus.finished()
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void
  const promise = new Promise<void>((yes) => {
    resolve = yes
  })
  return { promise, resolve }
}

function tell(bus: ExecutionEventBus, ids: { taskId: string; contextId: string }, tells: readonly Tells[]) {
  for (const { task, state, artifact, say, append = false } of tells) {
    const said = say && {
      ...messageOf(''),
      ...ids,
      role: Role.ROLE_AGENT,
      parts: say.flatMap((each) => messageOf(each).parts),
    }
    const made = {
      artifactId: `${ids.taskId}-${artifact}`,
      name: 'quote',
      description: '',
      parts: said?.parts ?? [],
      metadata: undefined,
      extensions: [],
    }
    const status = {
      state: STATES[state ?? 'working'],
      message: artifact === undefined ? said : undefined,
      timestamp: new Date().toISOString(),
    }
    const event = { ...ids, metadata: undefined }
    if (task) {
      const artifacts = artifact === undefined ? [] : [made]
      bus.publish({
        kind: 'task',
        data: { id: ids.taskId, contextId: ids.contextId, status, artifacts, history: [], metadata: {} },
      })
    } else if (artifact !== undefined)
      bus.publish({ kind: 'artifactUpdate', data: { ...event, artifact: made, append, lastChunk: false } })
    else bus.publish({ kind: 'statusUpdate', data: { ...event, status } })
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
      for await (const event of answer) {
        const text = JSON.stringify(event)
        await new Promise<void>((resolve) => response.write(`data: ${text}\n\n`, () => resolve()))
        if (text.includes('"break"')) response.destroy()
      }
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

test('a message next to a task does not decide the outcome', () => {
  const message = { parts: [], extensions: [] } as unknown as Message
  const task = (state: TaskState) => ({ id: 't', status: { state }, artifacts: [] }) as unknown as Task
  const outcomeOf = (...events: AnswerEvent[]) => {
    const answer = new Answer()
    for (const event of events) answer.observe(event)
    return answer.outcome.status
  }
  const said = { kind: 'message', value: message } as const
  const of = (state: TaskState) => ({ kind: 'task', value: task(state) }) as const
  assert.equal(outcomeOf(said), 'ok')
  assert.equal(outcomeOf(of(TaskState.TASK_STATE_WORKING), said), 'unknown')
  assert.equal(outcomeOf(said, of(TaskState.TASK_STATE_FAILED)), 'error')
})
