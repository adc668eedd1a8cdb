import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT_DIR } from '../start/installation.ts'

/** What a page gives to be pasted into a shell, block by block. */
export function shellBlocks(file: string): string[] {
  const text = readFileSync(join(PROJECT_DIR, file), 'utf8')
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map((match) => match[1]!)
}
