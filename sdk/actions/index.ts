export { TRACEPARENT } from '../../src/proof/statement/traceparent.ts'
export { Action, type Call, type Decision, type Outcome, type Told } from './action.ts'
export { Actions, type ActionsOptions } from './actions.ts'
