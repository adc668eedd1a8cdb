export { type RecordCallsOptions, recordCalls } from './client.ts'
export { agentExtension, type Carried, carriedBy, EXTENSION } from './extension.ts'
export { recordingExecutor } from './server.ts'
