import { AsyncLocalStorage } from 'node:async_hooks'
import type { Action } from '@tallystick/sdk/actions'

const KEY = Symbol.for('tallystick.action')
const global = globalThis as { [KEY]?: AsyncLocalStorage<Action> }

/**
 * The running action, which is the parent of actions in it, also across frameworks. One instance for all adapters,
 * since each contains a copy of this module.
 */
export const currentAction = global[KEY] ?? new AsyncLocalStorage<Action>()
global[KEY] = currentAction
