// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Eip3009} from "./Eip3009.sol";

/// @title A stand-in for USDC on local chains. Never deploy it where money is: anyone may mint.
/// @notice The ERC-20 part of Circle's FiatToken 2.2 with pause, blacklist and EIP-3009: its units, events, order of
/// logs and revert messages.
/// @dev There is no constructor, no immutable and no initial storage, so the runtime code works at any
/// address it is placed at (anvil_setCode), Base's real USDC address included.
contract TestUsdc is Eip3009 {
    string public constant name = "USD Coin";
    string public constant symbol = "USDC";
    uint8 public constant decimals = 6;

    /// @notice Who pauses: the last of Anvil's development accounts, whose key is public knowledge.
    address public constant pauser = 0xa0Ee7A142d267C1f36714E4a8F75612F20a79720;
    /// @notice Who blacklists: the same account.
    address public constant blacklister = pauser;

    uint256 public totalSupply;
    mapping(address account => uint256 amountMicroUsdc) public balanceOf;
    mapping(address owner => mapping(address spender => uint256 amountMicroUsdc)) public allowance;
    bool public paused;
    mapping(address account => bool) public isBlacklisted;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Mint(address indexed minter, address indexed to, uint256 amount);
    event Pause();
    event Unpause();
    event Blacklisted(address indexed account);
    event UnBlacklisted(address indexed account);

    modifier onlyPauser() {
        require(msg.sender == pauser, "Pausable: caller is not the pauser");
        _;
    }

    modifier onlyBlacklister() {
        require(msg.sender == blacklister, "Blacklistable: caller is not the blacklister");
        _;
    }

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier notBlacklisted(address account) {
        require(!isBlacklisted[account], "Blacklistable: account is blacklisted");
        _;
    }

    /// @notice Makes money from nothing, for anyone who asks: this is a test token.
    function mint(address to, uint256 amount)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(to)
        returns (bool)
    {
        require(to != address(0), "FiatToken: mint to the zero address");
        require(amount > 0, "FiatToken: mint amount not greater than 0");
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Mint(msg.sender, to, amount);
        emit Transfer(address(0), to, amount);
        return true;
    }

    /// @notice Zero is a valid value, as in the real token: it moves nothing and still logs.
    function transfer(address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(to)
        returns (bool)
    {
        _transfer(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(spender)
        returns (bool)
    {
        require(spender != address(0), "ERC20: approve to the zero address");
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    /// @notice Needs no allowance for a zero value, so a stranger can log a genuine zero transfer.
    function transferFrom(address from, address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(from)
        notBlacklisted(to)
        returns (bool)
    {
        require(value <= allowance[from][msg.sender], "ERC20: transfer amount exceeds allowance");
        _transfer(from, to, value);
        allowance[from][msg.sender] -= value;
        return true;
    }

    function pause() external onlyPauser {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyPauser {
        paused = false;
        emit Unpause();
    }

    function blacklist(address account) external onlyBlacklister {
        isBlacklisted[account] = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external onlyBlacklister {
        isBlacklisted[account] = false;
        emit UnBlacklisted(account);
    }

    function _authorizedTransfer(address from, address to, uint256 value)
        internal
        override
        notBlacklisted(from)
        notBlacklisted(to)
    {
        _transfer(from, to, value);
    }

    function _requireNotPaused() internal view override whenNotPaused {}

    function _nameHash() internal pure override returns (bytes32) {
        return keccak256(bytes(name));
    }

    function _transfer(address from, address to, uint256 value) private {
        require(from != address(0), "ERC20: transfer from the zero address");
        require(to != address(0), "ERC20: transfer to the zero address");
        require(value <= balanceOf[from], "ERC20: transfer amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
