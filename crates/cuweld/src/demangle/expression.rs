//! Expressions in template arguments and return types.

use super::{Parser, operator};

impl Parser<'_> {
    /// An expression. The reference linker sets no parentheses around operands.
    pub(super) fn expression(&mut self) -> Option<String> {
        let text = self.nested(Self::expression_at_depth)?;
        self.wrote(text)
    }

    fn expression_at_depth(&mut self) -> Option<String> {
        match self.peek() {
            b'T' => return self.template_parameter(),
            b'L' => return self.literal(),
            b'0'..=b'9' => return self.simple_name(),
            _ => {}
        }
        if self.eat("fp") {
            return Some(format!("param#{}", self.ordinal()?));
        }
        if self.eat("sr") {
            return self.scoped_name();
        }
        if self.eat("sp") {
            return Some(format!("{}...", self.expression()?));
        }
        if self.eat("st") {
            return Some(format!("sizeof({})", self.parse_type()?.text()));
        }
        if self.eat("sz") {
            return Some(format!("sizeof({})", self.expression()?));
        }
        if self.eat("sZ") {
            return Some(format!("sizeof...({})", self.expression()?));
        }
        if self.eat("cv") {
            let kind = self.parse_type()?.text();
            if self.eat("_") {
                return Some(format!("{kind}({})", self.operands_to_end()?));
            }
            return Some(format!("({kind}){}", self.expression()?));
        }
        if self.eat("tl") {
            let kind = self.parse_type()?.text();
            return Some(format!("{kind}{{{}}}", self.operands_to_end()?));
        }
        if self.eat("cl") {
            let function = self.expression()?;
            return Some(format!("{function}({})", self.operands_to_end()?));
        }
        if self.eat("dt") {
            return Some(format!("({}.{})", self.expression()?, self.simple_name()?));
        }
        if self.eat("pt") {
            return Some(format!("({}->{})", self.expression()?, self.simple_name()?));
        }
        if self.eat("qu") {
            return Some(format!("{}?{}:{}", self.expression()?, self.expression()?, self.expression()?));
        }
        let row = operator::starting(self.rest).filter(|row| row.operands > 0)?;
        self.expect(row.code)?;
        let first = self.expression()?;
        Some(if row.operands == 1 {
            format!("{}{first}", row.text)
        } else {
            format!("{first}{}{}", row.text, self.expression()?)
        })
    }

    fn operands_to_end(&mut self) -> Option<String> {
        let mut operands = Vec::new();
        while !self.eat("E") {
            operands.push(self.expression()?);
        }
        Some(operands.join(", "))
    }

    fn simple_name(&mut self) -> Option<String> {
        let name = self.source_name()?;
        if self.peek() == b'I' { Some(format!("{name}{}", self.template_arguments()?)) } else { Some(name) }
    }

    /// A member of something that depends on template parameters.
    fn scoped_name(&mut self) -> Option<String> {
        let mut scope = String::new();
        if self.peek().is_ascii_digit() {
            while !self.eat("E") {
                scope.push_str(&self.simple_name()?);
                scope.push_str("::");
            }
        } else {
            scope = format!("{}::", self.parse_type()?.text());
        }
        Some(format!("{scope}{}", self.simple_name()?))
    }

    /// A literal, or the address of something with a name.
    pub(super) fn literal(&mut self) -> Option<String> {
        self.expect("L")?;
        if self.eat("_Z") {
            let (name, _) = self.nested(Self::function_or_variable)?;
            self.expect("E")?;
            return Some(name);
        }
        if self.eat("Dn") {
            self.eat("0");
            self.expect("E")?;
            return Some("nullptr".to_owned());
        }
        // Floating-point numbers are mangled as bytes, which are not decoded.
        if matches!(self.peek(), b'f' | b'd' | b'e' | b'g') {
            return None;
        }
        let kind = self.parse_type()?.text();
        let sign = if self.eat("n") { "-" } else { "" };
        let digits = self.digits();
        self.expect("E")?;
        (!digits.is_empty()).then(|| format!("({kind}){sign}{digits}"))
    }
}
