import type { Row } from './panels.ts'
import { PROCESS_ROWS } from './process-panels.ts'
import { SERVER_ROWS } from './server-panels.ts'
import { WORKER_ROWS } from './worker-panels.ts'

export const ROWS: readonly Row[] = [...SERVER_ROWS, ...WORKER_ROWS, ...PROCESS_ROWS]
