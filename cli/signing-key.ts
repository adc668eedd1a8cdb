import { type AgentSigner, agentSigner } from '../sdk/signing/index.ts'
import { SourceError } from '../src/verify/source.ts'
import { readPrivate } from './read-private.ts'

/** The signer of a file that `tallystick agents keygen` wrote, or of any PKCS #8 in PEM that is this user's alone. Throws SourceError. */
export async function openSigner(file: string): Promise<AgentSigner> {
  let pkcs8: string
  try {
    pkcs8 = await readPrivate(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new SourceError('io', `${file} cannot be read (${code})`)
  }
  return agentSigner({ pkcs8 })
}
