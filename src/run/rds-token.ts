import { parseTokenRequest } from '../db/connect/token-request.ts'
import { runsToEnd } from './run-to-end.ts'

/**
 * `rds-token`: prints a token with which RDS and Aurora let this process' login in for 15 minutes, instead of a password: for
 * TALLYSTICK_DATABASE_PASSWORD_COMMAND. The credentials are those that the AWS SDK finds: a service account's (IRSA, Pod Identity),
 * the machine's, or the environment's.
 */
export const main = runsToEnd(
  {
    name: 'rds-token',
    help: '  It takes no arguments: PGHOST and PGUSER, or the URL of the environment, say for whom (docs/operate/postgres.md)',
  },
  async () => {
    const { host, port, user, region } = parseTokenRequest(process.env)
    // Loaded when it is asked for: importing it takes a tenth of a second.
    const { Signer } = await import('@aws-sdk/rds-signer')
    const signer = new Signer({ hostname: host, port, username: user, region })
    process.stdout.write(`${await signer.getAuthToken()}\n`)
  },
)
