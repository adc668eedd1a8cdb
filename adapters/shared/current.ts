import { AsyncLocalStorage } from 'node:async_hooks'
import type { Action } from '@tallystick/sdk/actions'

const KEY = Symbol.for('tallystick.action')
const global = globalThis as { [KEY]?: AsyncLocalStorage<Action> }

/**
 * The running action. It is the parent of actions that begin inside it, also in another framework. All adapters share
 * one instance, although each contains a copy of this module.
 */
export const currentAction = global[KEY] ?? new AsyncLocalStorage<Action>()
global[KEY] = currentAction
