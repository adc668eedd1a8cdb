export { TRACEPARENT } from '../../src/proof/statement/traceparent.ts'
export { Action, type Call, type Decision, type Outcome, outcomeOfThrown, type Told } from './action.ts'
export { Actions, type ActionsOptions, matchesDigest } from './actions.ts'
export { follow } from './follow.ts'
