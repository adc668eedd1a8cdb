// Starts a Postgres in the given folder, prints its address and runs until it is killed. It handles no signals.
import { startPostgres } from '../../../src/run/postgres/start.ts'

const postgres = await startPostgres({
  dataDir: process.argv[2]!,
  settings: { fsync: 'off', shared_buffers: '16MB' },
  ...(process.argv[3] ? { binDir: process.argv[3] } : {}),
  log: (line) => console.error(line),
})
const { superuserUrl, port, pid } = postgres
console.log(JSON.stringify({ superuserUrl, port, pid, uid: process.getuid?.() }))
setInterval(() => {}, 60_000)
