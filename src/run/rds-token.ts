import { parseTokenRequest } from '../db/connect/token-request.ts'
import { runsToEnd } from './run-to-end.ts'

/**
 * Command `rds-token`: prints a token that RDS and Aurora accept as a password for 15 minutes. Used by
 * TALLYSTICK_DATABASE_PASSWORD_COMMAND. The AWS SDK finds the credentials: of a service account (IRSA, Pod Identity),
 * of the machine, or in the environment.
 */
export const main = runsToEnd(
  {
    name: 'rds-token',
    help: '  It takes no arguments: PGHOST and PGUSER, or a database URL in the environment, name the login (docs/operate/postgres.md)',
  },
  async () => {
    const { host, port, user, region } = parseTokenRequest(process.env)
    // The module is loaded only when it is needed, because the import takes a tenth of a second.
    const { Signer } = await import('@aws-sdk/rds-signer')
    const signer = new Signer({ hostname: host, port, username: user, region })
    process.stdout.write(`${await signer.getAuthToken()}\n`)
  },
)
