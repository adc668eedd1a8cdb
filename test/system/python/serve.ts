import { TallystickOperator } from '../../../sdk/operator.ts'
import { startHere } from '../deployment/deployment.ts'

/** Starts a server with a worker and an empty ledger. `env` is the environment of a client. */
export async function serve() {
  const deployment = await startHere()
  const { url, operatorKey } = deployment
  const operator = new TallystickOperator({ baseUrl: url, operatorKey })
  const { key } = await operator.ledgers.create({ name: 'asked from Python' })
  const env = {
    TALLYSTICK_URL: url,
    TALLYSTICK_API_KEY: key.key,
    TALLYSTICK_OPERATOR_KEY: operatorKey,
  }
  return { env, close: () => deployment.stop() }
}

// For work on the tests: prints variables to export, and serves until the program's input ends.
if (process.argv[1] === import.meta.filename) {
  const { env, close } = await serve()
  for (const [name, value] of Object.entries(env)) console.log(`export ${name}=${value}`)
  process.stdin.resume().once('end', close)
}
