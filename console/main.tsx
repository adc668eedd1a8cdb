import { render } from 'preact'
import { App } from './app.tsx'
import { showHiddenText } from './shown-text.ts'

showHiddenText()
render(<App />, document.getElementById('app')!)
