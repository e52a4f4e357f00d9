/**
 * Of the images. Colours are those of Okabe and Ito's palette (jfly.uni-koeln.de/color), which people who see few colours tell
 * apart; dashes tell the lines apart without any. The paper is drawn, so that a page of the other theme does not matter.
 */
export const STYLE = `
text { font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.panel { font-weight: 600 }
.note, .tick { fill: #59636e }
.paper { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.line { fill: none; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round }
.line-0 { stroke: #0072b2 }
.line-1 { stroke: #d55e00; stroke-dasharray: 5 4 }
.line-2 { stroke: #009e73; stroke-dasharray: 1 4 }
.line-3 { stroke: #cc79a7; stroke-dasharray: 9 4 1 4 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.note, .tick { fill: #9198a1 }
.paper { fill: #0d1117 }
.grid { stroke: #3d444d }
.line-0 { stroke: #56b4e9 }
.line-1 { stroke: #e69f00 }
.line-2 { stroke: #1fd1a1 }
.line-3 { stroke: #f0a6cf }
}
`;

/** Lines that there are colours for. */
export const COLOURS = 4;
