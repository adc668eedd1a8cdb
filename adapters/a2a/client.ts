import type { AgentCard, Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk'
import {
  ClientFactoryOptions,
  type RequestOptions,
  ServiceParameters,
  type Transport,
  type TransportFactory,
  withA2AExtensions,
} from '@a2a-js/sdk/client'
import { A2AError } from '@a2a-js/sdk/errors'
import type { Tallystick } from '@tallystick/sdk'
import { type Action, Actions } from '@tallystick/sdk/actions'
import { currentAction } from '../shared/current.ts'
import { Answer, type AnswerEvent, partsOf } from './answer.ts'
import { type Carried, carry, EXTENSION, recordOf } from './extension.ts'
import { OpenTasks } from './open-tasks.ts'

export type RecordCallsOptions = {
  readonly actions?: Actions | undefined
  /**
   * Client that fetches receipts. If it is given, each message also carries the receipt of its record. This delays the
   * message, since the ledger makes one checkpoint per second.
   */
  readonly receipts?: Tallystick | undefined
}

const FRAMEWORK = 'a2a-js'
/**
 * Records the messages that a client sends to other agents, and their outcomes. Each message carries the id of its
 * record.
 *
 *     const factory = new ClientFactory(recordCalls())
 *
 * `receipts`: see RecordCallsOptions. Returns `options` with transports that record. Interceptors cannot record every
 * outcome, because the library does not report failed requests to them. With `failClosed`, sending throws
 * NotRecordedError if the message cannot be recorded.
 */
export function recordCalls(
  { actions = new Actions(), receipts }: RecordCallsOptions = {},
  options: ClientFactoryOptions = ClientFactoryOptions.default,
): ClientFactoryOptions {
  const recorder = new Recorder(actions, receipts)
  return { ...options, transports: options.transports.map((factory) => recorder.around(factory)) }
}

type SentMessage = {
  readonly action: Action
  readonly sent: SendMessageRequest
  readonly with: RequestOptions
}

class Recorder {
  readonly #actions: Actions
  readonly #receipts: Tallystick | undefined

  constructor(actions: Actions, receipts: Tallystick | undefined) {
    this.#actions = actions
    this.#receipts = receipts
  }

  around(factory: TransportFactory): TransportFactory {
    return {
      protocolName: factory.protocolName,
      create: async (url, card) => this.#recorded(await factory.create(url, card), url, card),
    }
  }

  #recorded(transport: Transport, url: string, card: AgentCard): Transport {
    const open = new OpenTasks()
    const recorded: Partial<Transport> = {
      sendMessage: async (request, options) => {
        const { action, sent, with: more } = await this.#begin(request, options, url, card)
        return currentAction.run(action, () => answered(action, transport.sendMessage(sent, more), open))
      },
      sendMessageStream: (request, options) =>
        stream(() => this.#begin(request, options, url, card), transport),
      getTask: async (request, options) => open.observe(await transport.getTask(request, options)),
      cancelTask: async (request, options) => open.observe(await transport.cancelTask(request, options)),
      resubscribeTask: (request, options) => resubscribed(transport.resubscribeTask(request, options), open),
    }
    return new Proxy(transport, {
      get(target, name) {
        if (Object.hasOwn(recorded, name)) return recorded[name as keyof typeof recorded]
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  /**
   * Begins the action of a message. With `failClosed`, throws NotRecordedError if the ledger does not record the
   * action.
   */
  async #begin(
    request: SendMessageRequest,
    options: RequestOptions | undefined,
    url: string,
    card: AgentCard,
  ): Promise<SentMessage> {
    const { message } = request
    const told = this.#actions.toldFirst
    const call = {
      kind: 'agent',
      name: card.name,
      server: url,
      callId: message?.messageId,
      session: message?.contextId,
      arguments: message && partsOf(message as Message),
      framework: FRAMEWORK,
      parent: currentAction.getStore(),
    } as const
    const action = this.#actions.begin(call, told, true)
    await action.permitted
    const carried = await this.#carried(action)
    const parameters = ServiceParameters.createFrom(options?.serviceParameters, withA2AExtensions(EXTENSION))
    return {
      action,
      sent: message === undefined ? request : { ...request, message: carry(message as Message, carried) },
      with: { ...options, serviceParameters: parameters },
    }
  }

  async #carried(action: Action): Promise<Carried> {
    const { traceparent } = action
    const record = await recordOf(action)
    if (record === null) return { traceparent }
    const receipt = await this.#receipts?.records.receipt(record).catch(() => null)
    return { record, traceparent, ...(receipt && { receipt: Buffer.from(receipt).toString('base64') }) }
  }
}

async function* stream(
  begin: () => Promise<SentMessage>,
  transport: Transport,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { action, sent, with: more } = await begin()
  const answer = new Answer()
  try {
    for await (const event of transport.sendMessageStream(sent, more)) {
      observe(answer, event)
      yield event
    }
  } catch (error) {
    action.end({ ...answer.outcome, status: statusOfThrown(error), error })
    throw error
  } finally {
    // This also runs if the caller stops reading, or if the stream ends before the task.
    action.end(answer.outcome)
  }
}

/** Yields the events of a resubscription. The first event has the current state of the task. */
async function* resubscribed(
  events: AsyncGenerator<StreamResponse, void, undefined>,
  open: OpenTasks,
): AsyncGenerator<StreamResponse, void, undefined> {
  const answer = new Answer()
  let isWhole = false
  for await (const event of events) {
    isWhole ||= event.payload?.$case === 'task'
    observe(answer, event)
    if (isWhole && !answer.isOpen) open.settle(answer)
    yield event
  }
}

async function answered<Found extends Message | Task>(
  action: Action,
  answer: Promise<Found>,
  open: OpenTasks,
): Promise<Found> {
  try {
    const found = await answer
    const gathered = new Answer()
    gathered.observe(
      'messageId' in found ? { kind: 'message', value: found } : { kind: 'task', value: found },
    )
    if (gathered.isOpen) open.add(action, gathered)
    else action.end(gathered.outcome)
    return found
  } catch (error) {
    action.end({ status: statusOfThrown(error), error })
    throw error
  }
}

/**
 * Returns the status for a thrown error. `unknown` if the connection broke after the message was sent, because the
 * agent may have acted.
 */
function statusOfThrown(error: unknown): 'error' | 'unknown' {
  const { cause } = error as { cause?: { code?: unknown } }
  return error instanceof A2AError || cause?.code === 'ECONNREFUSED' ? 'error' : 'unknown'
}

function observe(answer: Answer, { payload }: StreamResponse): void {
  if (payload !== undefined) answer.observe({ kind: payload.$case, value: payload.value } as AnswerEvent)
}
