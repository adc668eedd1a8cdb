import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT_DIR } from '../deployment/installation.ts'

export function shellBlocks(file: string): string[] {
  const text = readFileSync(join(PROJECT_DIR, file), 'utf8')
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map((match) => match[1]!)
}
