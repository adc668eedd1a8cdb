import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

export const SCRAM_ITERATIONS_DEFAULT = 4_096
const SALT_BYTES = 16
const KEY_BYTES = 32

/**
 * Returns the verifier of a password that Postgres stores (RFC 5802, RFC 7677):
 * `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`.
 *
 * The verifier is sent instead of the password, because server logs and pg_stat_statements store the text of
 * statements.
 */
export function makeScramVerifier(password: string, iterations: number): string {
  const salt = randomBytes(SALT_BYTES)
  const salted = pbkdf2Sync(prepare(password), salt, iterations, KEY_BYTES, 'sha256')
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`
}

// Character tables of RFC 3454. `SPACES` is table C.1.2: spaces that are not ASCII. `NOTHING` is table B.1: characters
// that are commonly mapped to nothing.
const SPACES = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/g
const NOTHING = /\u00ad|\u034f|\u1806|[\u180b-\u180d]|\u200c|\u200d|\u2060|[\ufe00-\ufe0f]|\ufeff/g

/**
 * Applies the steps of SASLprep (RFC 4013) that change a password. A prohibited password is accepted, because libpq,
 * Postgres and node-postgres accept it too.
 */
function prepare(password: string): string {
  return password.replace(SPACES, ' ').replace(NOTHING, '').normalize('NFKC')
}
