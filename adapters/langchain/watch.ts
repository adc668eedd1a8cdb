import { AsyncLocalStorage } from 'node:async_hooks'
import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { CallbackManager } from '@langchain/core/callbacks/manager'
import type { RunnableConfig } from '@langchain/core/runnables'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import type { Action } from '@tallystick/sdk/actions'
import { type AgentMiddleware, createAgent } from 'langchain'
import { currentAction } from '../shared/current.ts'
import { isInterrupt } from './runs.ts'

/**
 * Callbacks for the end of an agent's call. A middleware has no hook for a call that a limit or another middleware
 * ends.
 */
export type Watch = {
  /**
   * Called with the outputs when the call has ended. Not called if the call asked for input, because another call will
   * continue with the answer.
   */
  ended(outputs: unknown): void
  failed(error: unknown, signal: AbortSignal | undefined): void
  /** True if the handler is called for runs below the agent. Another library may have removed the handler there. */
  hasHandlers: boolean
  /** Actions for which a tool, or a runnable that replaces the tool, was called. */
  readonly begun: WeakSet<Action>
}

/** Metadata that all runs below an agent inherit, so that no handler records again what the middleware records. */
export const MARK = 'tallystick_run'

const watched = new WeakMap<object, () => Watch>()
const current = new AsyncLocalStorage<readonly Watch[]>()
let isPatched = false

/** Returns the current call's watch for which `isMade` is true. */
export function currentWatch<Made extends Watch>(isMade: (watch: Watch) => watch is Made): Made | undefined {
  return current.getStore()?.find(isMade)
}

/**
 * Watches `invoke`, `stream` and `streamEvents` of each agent with this middleware.
 *
 * The library has no hook for a recursion limit or for an error of another middleware, and a middleware cannot add a
 * callback handler. Therefore these three methods of the class that `createAgent` returns are replaced by methods
 * that add a handler.
 */
export function watchRuns(middleware: AgentMiddleware, make: () => Watch): void {
  watched.set(middleware, make)
  if (isPatched) return
  isPatched = true
  // A model's name is resolved only by the first call, so 'none' is never loaded.
  const agents = Object.getPrototypeOf(createAgent({ model: 'none', tools: [] })) as Agents
  for (const name of ['invoke', 'stream', 'streamEvents'] as const) {
    const original = agents[name]
    agents[name] = function (state, config, ...more) {
      const watches = (this.options.middleware ?? []).flatMap((one) => watched.get(one)?.() ?? [])
      if (watches.length === 0) return original.call(this, state, config, ...more)
      return current.run(watches, () => original.call(this, state, withHandlers(config, watches), ...more))
    }
  }
}

type Method = (
  this: { options: { middleware?: readonly object[] } },
  state: unknown,
  config: RunnableConfig | undefined,
  ...more: unknown[]
) => unknown
type Agents = Record<'invoke' | 'stream' | 'streamEvents', Method>

function withHandlers(config: RunnableConfig = {}, watches: readonly Watch[]): RunnableConfig {
  // Without `callbacks` in the config, the library uses the callbacks of the surrounding runnable.
  const inherited = (AsyncLocalStorageProviderSingleton.getRunnableConfig() as RunnableConfig | undefined)
    ?.callbacks
  const callbacks = config.callbacks ?? inherited
  const handlers = watches.map((watch) => new RunHandler(watch, config.signal))
  const metadata = { ...config.metadata, [MARK]: crypto.randomUUID() }
  if (!(callbacks instanceof CallbackManager))
    return { ...config, metadata, callbacks: [...(callbacks ?? []), ...handlers] }
  const manager = callbacks.copy()
  for (const handler of handlers) manager.addHandler(handler, true)
  return { ...config, metadata, callbacks: manager }
}

/** Reports the end of the agent's graph, which is the first chain that starts. */
class RunHandler extends BaseCallbackHandler {
  readonly name = 'tallystick-run'
  readonly #watch: Watch
  readonly #signal: AbortSignal | undefined
  #root: string | undefined
  #isInterrupted = false

  constructor(watch: Watch, signal: AbortSignal | undefined) {
    super({ _awaitHandler: true })
    this.awaitHandlers = true
    this.#watch = watch
    this.#signal = signal
  }

  override handleChainStart(_chain: unknown, _inputs: unknown, runId: string): void {
    this.#root ??= runId
    this.#watch.hasHandlers ||= runId !== this.#root
    this.#begin()
  }

  override handleToolStart(): void {
    this.#begin()
  }

  #begin(): void {
    const action = currentAction.getStore()
    if (action) this.#watch.begun.add(action)
  }

  override handleChainEnd(outputs: unknown, runId: string): void {
    if (runId === this.#root && !this.#isInterrupted) this.#watch.ended(outputs)
  }

  override handleChainError(error: unknown, runId: string, parentRunId?: string): void {
    if (runId === this.#root) this.#watch.failed(error, this.#signal)
    else if (parentRunId === this.#root && isInterrupt(error)) this.#isInterrupted = true
  }
}
