/* Fake worker for tests of the parent process. It returns the settings that it received in place of metrics. */

let settings: unknown = null

process.on('SIGINT', () => {})
process.once('disconnect', () => process.exit(1))
process.on('message', (message: { type: string; settings?: { dataDir: string } }) => {
  if (message.type === 'start') start(message.settings!)
  else if (message.type === 'metrics') process.send!({ type: 'metrics', text: JSON.stringify(seen()) })
  else if (process.env['STUB_ROUND_MS']) setTimeout(end, Number(process.env['STUB_ROUND_MS']))
  else end()
})

function start(given: { dataDir: string }): void {
  settings = given
  if (given.dataDir !== '/nowhere') process.send!({ type: 'ready' })
  else process.send!({ type: 'failed', message: 'there is no data' }, () => process.exit(1))
}

function seen(): object {
  return { pid: process.pid, argv: process.argv.slice(2), env: Object.keys(process.env), settings }
}

function end(): void {
  process.exit(0)
}
