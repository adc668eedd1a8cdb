import { AsyncLocalStorage } from 'node:async_hooks'
import type { Action } from '@tallystick/sdk/actions'

const KEY = Symbol.for('tallystick.action')
const global = globalThis as { [KEY]?: AsyncLocalStorage<Action> }

/**
 * The action that runs: other actions in it are its parts, also those of another framework. One for all adapters, each of which has this
 * module in it.
 */
export const currentAction = global[KEY] ?? new AsyncLocalStorage<Action>()
global[KEY] = currentAction
